import { alertKinds, alertRules, type AlertMute } from '@shoal/contract'
import { useQuery } from '@tanstack/react-query'
import { useState, type ReactNode } from 'react'
import { useOrg } from '../../api/active-org.ts'
import { errorText } from '../../api/error-text.ts'
import { useApiMutation } from '../../api/mutation.ts'
import { seed, withItem } from '../../api/seed.ts'
import { squidsQuery } from '../../api/squids.ts'
import { LazyDialog } from '../../components/LazyDialog.tsx'
import { LazySelect } from '../../components/LazySelect.tsx'
import { Alert } from '../../ui/Alert.tsx'
import { Button } from '../../ui/Button.tsx'
import { labelClass } from '../../ui/Field.tsx'
import { RadioGroup } from '../../ui/RadioGroup.tsx'

type Props = {
  /** The initial selection. A null `kind` selects all kinds, a null `squid` all squids and the organization. */
  subject: Pick<AlertMute, 'kind' | 'squid'>
  onClose: () => void
}

const durations = [
  { value: '60', label: '1 hour' },
  { value: '480', label: '8 hours' },
  { value: '1440', label: '1 day' },
  { value: '10080', label: '1 week' },
] as const

type Minutes = (typeof durations)[number]['value']

const anyId = 'any'
const kindOptions = [
  { id: anyId, label: 'All kinds' },
  ...alertKinds.map((kind) => ({ id: kind, label: alertRules[kind].title })),
] as const

/** Lets the user mute alerts of one kind or all kinds, and of one version or all, for a limited time. */
export function MuteDialog({ subject, onClose }: Props) {
  const { code } = useOrg()
  const [kind, setKind] = useState<(typeof kindOptions)[number]['id']>(subject.kind ?? anyId)
  const [squidId, setSquidId] = useState(subject.squid ? String(subject.squid.id) : anyId)
  const [minutes, setMinutes] = useState<Minutes>('60')
  const squids = useQuery(squidsQuery(code)).data ?? (subject.squid ? [subject.squid] : [])
  const squidOptions = [
    { id: anyId, label: 'All squids and the organization' },
    ...squids.map(({ id, name, slot }) => ({ id: String(id), label: `${name}@${slot}` })),
  ]
  const mute = useApiMutation('alerts.mute', {
    invalidates: ['alerts.listMutes', 'alerts.list'],
    seeds: (client, created) =>
      seed(client, 'alerts.listMutes', { params: { code } }, (mutes) => withItem(mutes, created, ({ id }) => id)),
    errorDisplay: 'caller',
    onSuccess: onClose,
  })
  const save = () =>
    mute.mutate({
      params: { code },
      body: {
        kind: kind === anyId ? null : kind,
        squidId: squidId === anyId ? null : Number(squidId),
        minutes: Number(minutes),
      },
    })
  return (
    <LazyDialog
      title="Mute alerts"
      isOpen
      onClose={onClose}
      footer={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button variant="primary" isPending={mute.isPending} onClick={save}>
            Mute
          </Button>
        </>
      }
    >
      <div className="flex flex-col gap-4">
        <p>Shoal sends no notifications for these alerts while they are muted. They still appear here.</p>
        <LabeledSelect label="Kind">
          <LazySelect label="Kind" options={kindOptions} value={kind} onChange={setKind} />
        </LabeledSelect>
        <LabeledSelect label="Applies to">
          <LazySelect label="Applies to" options={squidOptions} value={squidId} onChange={setSquidId} />
        </LabeledSelect>
        <RadioGroup isInline label="Duration" options={durations} value={minutes} onChange={setMinutes} />
        {mute.error && <Alert tone="bad">{errorText(mute.error)}</Alert>}
      </div>
    </LazyDialog>
  )
}

/** A visible label above a select. It is hidden from screen readers, because the select has its own accessible name. */
const LabeledSelect = ({ label, children }: { label: string; children: ReactNode }) => (
  <div className="flex flex-col gap-1.5">
    <span aria-hidden className={labelClass}>
      {label}
    </span>
    {children}
  </div>
)
