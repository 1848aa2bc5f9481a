-- The city that a question names: the name that follows "in" or "for", else the longest one, else the one of the named state, else the largest.
with asked as (select ' ' || {{ inputs.query | lower | regex_replace('[?!.,:"]', ' ') }} || ' ' as text,
                      ' ' || {{ inputs.query | regex_replace('[?.,]', ' ') }} || ' ' as written)
select name, state, latitude, longitude, time_zone
from cities, asked
where instr(text, ' ' || lower(name) || ' ') > 0 or (also is not null and instr(text, ' ' || lower(also) || ' ') > 0)
order by
  instr(text, ' in ' || lower(name) || ' ') + instr(text, ' for ' || lower(name) || ' ')
    + instr(text, ' in ' || lower(coalesce(also, name)) || ' ') + instr(text, ' for ' || lower(coalesce(also, name)) || ' ') > 0 desc,
  length(name) desc,
  instr(written, ' ' || state || ' ') > 0 desc,
  population desc
