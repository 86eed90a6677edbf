import { alertKinds, alertRules, type AlertMute } from '@shoal/contract'
import { useQuery } from '@tanstack/react-query'
import { useState, type ReactNode } from 'react'
import { useOrg } from '../../api/active-org.ts'
import { errorText } from '../../api/error-text.ts'
import { useApiMutation } from '../../api/mutation.ts'
import { squidsQuery } from '../../api/squids.ts'
import { LazyDialog } from '../../components/LazyDialog.tsx'
import { LazySelect } from '../../components/LazySelect.tsx'
import { Alert } from '../../ui/Alert.tsx'
import { Button } from '../../ui/Button.tsx'
import { labelClass } from '../../ui/Field.tsx'
import { RadioGroup } from '../../ui/RadioGroup.tsx'

type Props = {
  /** The initial selection; both null means everything. */
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

const any = 'any'
const kindOptions = [
  { id: any, label: 'Every kind' },
  ...alertKinds.map((kind) => ({ id: kind, label: alertRules[kind].title })),
] as const

/** Mutes a kind of alert, a version, or everything for some time. */
export function MuteDialog({ subject, onClose }: Props) {
  const { code } = useOrg()
  const [kind, setKind] = useState<(typeof kindOptions)[number]['id']>(subject.kind ?? any)
  const [squidId, setSquidId] = useState(subject.squid ? String(subject.squid.id) : any)
  const [minutes, setMinutes] = useState<Minutes>('60')
  const squids = useQuery(squidsQuery(code)).data ?? (subject.squid ? [subject.squid] : [])
  const squidOptions = [
    { id: any, label: 'All squids and the organization' },
    ...squids.map(({ id, name, slot }) => ({ id: String(id), label: `${name}@${slot}` })),
  ]
  const mute = useApiMutation('alerts.mute', {
    invalidates: ['alerts.listMutes', 'alerts.list'],
    errorDisplay: 'caller',
    onSuccess: onClose,
  })
  const save = () =>
    mute.mutate({
      params: { code },
      body: {
        kind: kind === any ? null : kind,
        squidId: squidId === any ? null : Number(squidId),
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
        <p>Shoal sends no notifications for these alerts until then. They still appear here.</p>
        <Choice label="Kind">
          <LazySelect label="Kind" options={kindOptions} value={kind} onChange={setKind} />
        </Choice>
        <Choice label="Where">
          <LazySelect label="Where" options={squidOptions} value={squidId} onChange={setSquidId} />
        </Choice>
        <RadioGroup isInline label="For how long" options={durations} value={minutes} onChange={setMinutes} />
        {mute.error && <Alert tone="bad">{errorText(mute.error)}</Alert>}
      </div>
    </LazyDialog>
  )
}

/** The visible label; the select has an accessible name of its own. */
const Choice = ({ label, children }: { label: string; children: ReactNode }) => (
  <div className="flex flex-col gap-1.5">
    <span aria-hidden className={labelClass}>
      {label}
    </span>
    {children}
  </div>
)
