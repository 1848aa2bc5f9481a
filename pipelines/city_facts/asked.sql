-- What the words of a question ask for, besides its city. What a word means stands in data/words.csv. A question with a word that is not
-- there, or that asks for nothing, is about something else ("tomorrow", "humidity", "not", a second city, another country). The words of
-- an echo are free where nothing else is asked for. A city alone asks for both facts.
with each_word as (select value as word from json_each({{ (steps.city.output.rest | replace(".", " ") | replace("-", " ") | split) | tojson }})),
     named as (select distinct means from words join each_word on word = phrase),
     found as (select exists (select 1 from named where means = 'temperature') as temperature,
                      exists (select 1 from named where means = 'time') as time,
                      exists (select 1 from named where means = 'echo') as echo,
                      exists (select 1 from each_word where word not in (select phrase from words)) as has_unknown,
                      not exists (select 1 from each_word) as is_city_alone)
select temperature or is_city_alone as temperature, time or is_city_alone as time, echo,
       has_unknown and (temperature or time or not echo) or not (temperature or time or echo or is_city_alone) as is_other
from found
