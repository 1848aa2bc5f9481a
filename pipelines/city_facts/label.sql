-- The name of the city, with its state where several cities of the table have that name, or where the city is not so large that everybody
-- knows which one is meant: "Athens, Georgia".
select case when (select count(distinct state) from cities where name = {{ steps.city.output.name }}) > 1
              or (select max(population) from cities where name = {{ steps.city.output.name }}) < 300000
            then {{ steps.city.output.name }} || ', ' || name else {{ steps.city.output.name }} end as text
from states
where code = {{ steps.city.output.state }}
