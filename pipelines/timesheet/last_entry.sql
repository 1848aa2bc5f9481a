-- The latest entry of the person, up to today.
select e.day, coalesce(p.name, e.project, 'no project') as project, coalesce(t.name, e.task) as task,
       e.hours, case when e.hours = 1 then 'hour' else 'hours' end as unit, e.note
from entries e left join projects p on p.id = e.project left join tasks t on t.id = e.task
where e.person = {{ person.id }} and e.day <= {{ run.today }} order by e.day desc, e.rowid desc limit 1
