-- The city that a question names. Of several: the one that its state follows, then the name that follows "in" or "for", then the longest
-- name, then the one whose state stands elsewhere in the question, then the largest. A city of another state than the one that follows its
-- name, or that is written out, is not meant. `rest` is the question in small letters, with "~city" for the city and its state.
-- Two capital letters behind a name may be a state, and are marked: "Portland, ME", "Portland (ME)", "Portland ME".
with asked as (select ' ' || {{ inputs.query | regex_replace("\\b(\\p{Lu})\\. ?(\\p{Lu})\\.", "$1$2") | regex_replace("['’]s\\b", " s")
                               | regex_replace("(\\p{Ll}[,(/]?\\s*[,(/]?)\\b(\\p{Lu}{2})\\b", "$1 @$2 ")
                               | regex_replace("[^\\pL\\pN@-]+", " ") | lower | replace("west virginia", "westvirginia") | trim }} || ' ' as text),
     state_names as (select code, replace(lower(name), 'west virginia', 'westvirginia') as name, coalesce(lower(short), '(none)') as short from states),
     -- Each way to write a city that is in the question, with what follows it and the question without it.
     named as (select cities.*, written, substr(text, instr(text, ' ' || written || ' ') + length(written) + 1) as follows,
                      replace(text, ' ' || written || ' ', ' ~city ') as rest
               from (select *, lower(name) as written from cities union all select *, lower(also) from cities where also is not null) as cities, asked
               where instr(text, ' ' || written || ' ') > 0),
     judged as (select named.*, own.name as own, own.short as own_short,
                       instr(follows, ' ' || own.name || ' ') = 1 or instr(follows, ' ' || own.short || ' ') = 1
                               or instr(follows, ' ' || lower(state) || ' ') = 1 or instr(follows, ' @' || lower(state) || ' ') = 1 as is_of_its_state,
                       instr(rest, ' ' || own.name || ' ') > 0 as has_its_state,
                       exists (select 1 from state_names other where other.code <> named.state
                               and (instr(follows, ' @' || lower(other.code) || ' ') = 1 or instr(follows, ' ' || other.short || ' ') = 1
                                    or instr(rest, ' ' || other.name || ' ') > 0)) as has_another_state
                from named join state_names own on own.code = named.state)
select name, state, latitude, longitude, time_zone,
       -- The state goes with its city: right behind it, behind "in", or at the beginning, as in "In Maine, what is …".
       trim(replace(replace(replace(replace(replace(replace(case when instr(rest, ' in ' || own || ' ') = 1 then substr(rest, length(own) + 5) else rest end,
            ' ~city ' || own || ' ', ' ~city '), ' ~city ' || own_short || ' ', ' ~city '), ' ~city @' || lower(state) || ' ', ' ~city '),
            ' ~city ' || lower(state) || ' ', ' ~city '), ' ~city in ' || own || ' ', ' ~city '), '@', '')) as rest
from judged, asked
where is_of_its_state or not has_another_state
order by is_of_its_state desc,
         instr(text, ' in ' || written || ' ') + instr(text, ' for ' || written || ' ') > 0 desc,
         length(written) desc, has_its_state desc, population desc
