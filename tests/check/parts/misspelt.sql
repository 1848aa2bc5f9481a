select hours
from entries
where persn = {{ inputs.by }}
