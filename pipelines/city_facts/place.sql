-- The city of that name, in the state if one is given, else the largest.
select name, latitude, longitude, time_zone
from cities
where lower(name) = lower(trim({{ inputs.city }}))
order by state = {{ inputs.state }} desc, population desc
