-- The city of that name, in the state if one is given, else the largest.
select name, latitude, longitude, time_zone
from cities
where lower(name) = lower(trim({{ inputs.city }})) and coalesce(state = {{ inputs.state }}, 1)
order by population desc
