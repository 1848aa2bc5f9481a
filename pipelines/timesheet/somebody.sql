-- How many other people a question names, by their first names.
select count(*) as others
from people
where id <> {{ person.id }} and name <> ''
  and instr({{ " " ~ inputs.message | lower | regex_replace("[^\\pL]+", " ") ~ " " }}, ' ' || lower(substr(name, 1, instr(name || ' ', ' ') - 1)) || ' ') > 0
