-- The hours of a person on a day.
select hours from entries
where person = {{ inputs.by }} and day = $day
