-- The name of the city, with its state where several cities of the table have that name.
select case when (select count(distinct state) from cities where name = {{ steps.city.output.name }}) > 1
            then {{ steps.city.output.name }} || ', ' || name else {{ steps.city.output.name }} end as text
from states
where code = {{ steps.city.output.state }}
