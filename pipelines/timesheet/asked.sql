-- What the words of a question name: a time, hours and the like, and whether it is about something that nobody looks up.
-- What a word means stands in data/words.csv; the projects are those of the table.
with said as (select ' ' || {{ inputs.message | lower | regex_replace("[^\\pL0-9]+", " ") | trim }} || ' ' as text),
     each_word as (select key as place, value as word
                   from json_each({{ inputs.message | lower | regex_replace("[^\\pL0-9]+", " ") | trim | split(" ") | tojson }})),
     named as (select distinct means from words, said where instr(text, ' ' || phrase || ' ') > 0),
     times as (select means from named where means in ('today', 'yesterday', 'week', 'last_week', 'month', 'last_month')),
     -- A short question with a word that no list knows; and where that word says whom or what it is about: "on Zeppelin", "did Zaphod", "Zaphod's".
     unknown as (select place, word from each_word
                 where (select count(*) from each_word) <= 20
                   and not exists (select 1 from words where instr(' ' || phrase || ' ', ' ' || word || ' ') > 0)),
     strange as (select unknown.word from unknown join each_word before on before.place = unknown.place - 1
                 where before.word in ('on', 'in', 'for', 'from', 'of', 'during', 'with', 'at', 'by', 'about', 'did', 'has', 'is', 'was', 'were', 'the')
                 union select unknown.word from unknown join each_word after on after.place = unknown.place + 1 where after.word = 's')
select
  coalesce((select means from times), '') as time,
  exists (select 1 from named where means = 'hours') as is_about_hours,
  exists (select 1 from named where means = 'status') as is_about_status,
  exists (select 1 from named where means = 'last_entry') as is_about_last_entry,
  exists (select 1 from named where means = 'projects') as is_about_projects,
  exists (select 1 from named where means = 'thanks') as is_thanks,
  exists (select 1 from named where means = 'other')
    or (exists (select 1 from named where means = 'maybe_other') and (select count(*) from each_word) <= 20)
    or (select count(*) from times) > 1
    -- What is left is known of a week alone; and of a last entry, a list of projects or a summary only what the words name.
    or exists (select 1 from said, times where (instr(text, ' left ') > 0 or instr(text, ' remaining ') > 0 or instr(text, ' to go ') > 0) and means not like '%week')
    or (exists (select 1 from unknown) and (exists (select 1 from named where means in ('last_entry', 'projects'))
                                            or exists (select 1 from said where instr(text, ' summary ') > 0 or instr(text, ' report ') > 0 or instr(text, ' weekly ') > 0 or instr(text, ' timesheet ') > 0)))
    or (select text glob '*[0-9]*' from said)
    or (exists (select 1 from named where means = 'last_entry') and exists (select 1 from times))
    or exists (select 1 from projects, said where instr(text, ' ' || lower(id) || ' ') > 0 or instr(text, ' ' || lower(name) || ' ') > 0
                 or instr(text, ' ' || lower(substr(name, 1, instr(name || ' ', ' ') - 1)) || ' ') > 0)
    or exists (select 1 from strange) as is_other,
  not exists (select 1 from unknown) as is_known,
  -- "And yesterday?" after other questions.
  exists (select 1 from words where means in ('today', 'yesterday', 'week', 'last_week', 'month', 'last_month') and phrase =
            {{ inputs.message | lower | regex_replace("[^\\pL]+", " ") | trim
               | regex_replace("^(?:and |but |so |ok |okay |then |what about |how about |for |und |y )+", "") }}) as is_only_a_time
