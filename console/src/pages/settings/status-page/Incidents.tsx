import { incidentStateTexts, type StatusIncident, type StatusPage } from '@shoal/contract'
import { useQuery } from '@tanstack/react-query'
import { useApiMutation } from '../../../api/mutation.ts'
import { seed } from '../../../api/seed.ts'
import { useDeniedReason } from '../../../components/access.tsx'
import { confirm } from '../../../components/confirm.ts'
import { openDialog } from '../../../components/open-dialog.ts'
import { QueryView } from '../../../components/QueryView.tsx'
import { RelativeTime } from '../../../components/RelativeTime.tsx'
import { Badge } from '../../../ui/Badge.tsx'
import { Button } from '../../../ui/Button.tsx'
import { Card } from '../../../ui/Card.tsx'
import { EditIncidentDialog, EditUpdateDialog, NewIncidentDialog, NewUpdateDialog } from './IncidentDialogs.tsx'
import { incidentsQuery } from './queries.ts'
import { tagKey } from './tag-choices.ts'

type Props = { code: string; page: StatusPage }

/** The list of the page's incidents, with their updates and actions. */
export function Incidents({ code, page }: Props) {
  const deniedReason = useDeniedReason('squids.write')
  const incidents = useQuery(incidentsQuery(code))
  const create = () => openDialog((close) => <NewIncidentDialog code={code} tags={page.tags} onClose={close} />)
  return (
    <Card
      title="Incidents"
      aside={
        <Button disabledReason={deniedReason} onClick={create}>
          New incident
        </Button>
      }
    >
      <QueryView query={incidents} what="The incidents">
        {(list) =>
          list.length === 0 ? (
            <p className="p-3.5 text-ink-2">
              No incidents yet. Publish one to inform visitors, or choose alerts that open one.
            </p>
          ) : (
            <ul className="divide-y divide-line">
              {list.map((incident) => (
                <Incident key={incident.id} code={code} page={page} incident={incident} deniedReason={deniedReason} />
              ))}
            </ul>
          )
        }
      </QueryView>
    </Card>
  )
}

function Incident({
  code,
  page,
  incident,
  deniedReason,
}: Props & { incident: StatusIncident; deniedReason: string | null }) {
  const { id, title, impact, tags, isAutomatic, startedAt, resolvedAt, updates } = incident
  const remove = useApiMutation('statusPage.removeIncident', {
    invalidates: ['statusPage.listIncidents'],
    seeds: (client) =>
      seed(client, 'statusPage.listIncidents', { params: { code } }, (all) => all.filter((other) => other.id !== id)),
    errorDisplay: 'caller',
  })
  const confirmRemoval = () =>
    confirm({
      title: `Remove ${title}?`,
      body: 'The incident disappears from the page and the feed.',
      confirmLabel: 'Remove',
      isDanger: true,
      action: () => remove.mutateAsync({ params: { code, incidentId: id } }),
    })
  return (
    <li className="flex flex-col gap-2 p-3.5">
      <div className="flex flex-wrap items-center gap-2">
        <h3 className="min-w-0 flex-1 basis-60 font-medium break-words">{title}</h3>
        <Badge tone={resolvedAt ? 'good' : impact === 'OUTAGE' ? 'bad' : 'warn'}>
          {resolvedAt ? 'Resolved' : impact === 'OUTAGE' ? 'Outage' : 'Degraded'}
        </Badge>
      </div>
      <p className="text-sm text-ink-3">
        {isAutomatic && 'Opened by an alert. '}
        {tags.length > 0 && `${tags.map(tagKey).join(', ')}. `}
        Began <RelativeTime at={startedAt} />
      </p>
      <ol className="flex flex-col gap-1.5">
        {updates.map((update) => (
          <li key={update.id} className="flex flex-wrap items-baseline gap-x-2">
            <span className="font-medium">{incidentStateTexts[update.state]}</span>
            <span className="text-sm text-ink-3">
              <RelativeTime at={update.at} />
            </span>
            <p className="min-w-0 basis-full break-words whitespace-pre-line text-ink-2">{update.text}</p>
            <Button
              variant="ghost"
              disabledReason={deniedReason}
              aria-label={`Edit text of the update ${incidentStateTexts[update.state]}`}
              onClick={() =>
                openDialog((close) => <EditUpdateDialog code={code} incidentId={id} update={update} onClose={close} />)
              }
            >
              Edit text
            </Button>
          </li>
        ))}
      </ol>
      <div className="flex flex-wrap gap-2">
        <Button
          disabledReason={deniedReason}
          onClick={() => openDialog((close) => <NewUpdateDialog code={code} incident={incident} onClose={close} />)}
        >
          Add update
        </Button>
        <Button
          disabledReason={deniedReason}
          onClick={() =>
            openDialog((close) => (
              <EditIncidentDialog code={code} tags={page.tags} incident={incident} onClose={close} />
            ))
          }
        >
          Edit
        </Button>
        <Button variant="ghost" disabledReason={deniedReason} onClick={confirmRemoval}>
          Remove
        </Button>
      </div>
    </li>
  )
}
