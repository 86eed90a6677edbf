import type { Profile } from '@shoal/contract'
import type { ReactNode } from 'react'
import { Switch } from '../../ui/Switch.tsx'
import { TextField } from '../../ui/TextField.tsx'
import { LazySelect } from '../LazySelect.tsx'
import type { SquidShape } from './profile-manifest.ts'

const profiles = ['small', 'medium', 'large', 'xlarge', '2xlarge'] as const satisfies Profile[]
const options = profiles.map((id) => ({ id, label: id }))

type Props = { shape: SquidShape; onChange: (shape: SquidShape) => void }

/** Fields for the profiles and numbers of a squid's api replicas and processors, and for the profile and size of its database. */
export function ShapeFields({ shape, onChange }: Props) {
  const change = (part: Partial<SquidShape>) => onChange({ ...shape, ...part })
  const profileField = (label: string, key: 'apiProfile' | 'processorProfile' | 'postgresProfile') =>
    shape.isDedicated && (
      <LazySelect
        label={`Profile of ${label}`}
        options={options}
        value={options.find(({ id }) => id === shape[key])?.id ?? 'small'}
        onChange={(id) => change({ [key]: id })}
      />
    )
  const countField = (label: string, key: 'apiReplicas' | 'processors' | 'storageGb', max: number) => (
    <TextField
      label={label}
      isLabelHidden
      inputMode="numeric"
      className="tabular"
      value={String(shape[key])}
      onChange={({ target }) => change({ [key]: wholeNumber(target.value, max) })}
    />
  )
  return (
    <div className="flex flex-col gap-3">
      <Switch checked={shape.isDedicated} onChange={({ target }) => change({ isDedicated: target.checked })}>
        Dedicated resources
      </Switch>
      <div className="flex max-w-110 flex-col gap-2.5">
        <Part name="API replicas" count={countField('API replicas', 'apiReplicas', 20)}>
          {profileField('the API', 'apiProfile')}
        </Part>
        <Part name="Processors" count={countField('Processors', 'processors', 20)}>
          {profileField('processors', 'processorProfile')}
        </Part>
        <Part name="Postgres, GB" count={countField('Postgres, GB', 'storageGb', 16_384)}>
          {profileField('Postgres', 'postgresProfile')}
        </Part>
      </div>
    </div>
  )
}

function Part({ name, count, children }: { name: string; count: ReactNode; children: ReactNode }) {
  return (
    <div className="grid grid-cols-[100px_80px_minmax(0,1fr)] items-center gap-3">
      <span aria-hidden className="text-ink-2">
        {name}
      </span>
      {count}
      {children}
    </div>
  )
}

const wholeNumber = (text: string, max: number) => Math.min(max, Number(text.replaceAll(/\D/g, '')) || 0)
