select hours
from entries
where person = {{ inputs.by }}
