import type { ReactNode } from 'react'
import { StatusDot } from '../../../components/StatusDot.tsx'
import { CopyField } from '../../../ui/CopyButton.tsx'
import type { Tone } from '../../../ui/tones.ts'
import type { Domain } from './queries.ts'

type DnsRecord = Domain['records'][number]

const appearance: Record<DnsRecord['state'], { tone: Tone; label: string; isPulsing?: boolean }> = {
  // Not checked yet: the first check follows immediately.
  WAITING: { tone: 'info', label: 'Checking', isPulsing: true },
  FOUND: { tone: 'good', label: 'Found' },
  MISSING: { tone: 'warn', label: 'Missing' },
  UNKNOWN: { tone: 'warn', label: 'No response' },
}

/** The records that the owner of the domain must set, with the state of each, and what to do about it. */
export function Records({ domain }: { domain: Domain }) {
  return (
    <ul aria-label={`DNS records of ${domain.name}`} className="flex flex-col gap-4">
      {domain.records.map((record) => {
        const { type, name, value, state, problem } = record
        const { label, ...dot } = appearance[state]
        return (
          <li key={type} aria-label={`${type} record`}>
            <p className="mb-1.5 flex flex-wrap items-center gap-x-3">
              <span className="font-medium">{type} record</span>
              <StatusDot {...dot}>{label}</StatusDot>
            </p>
            <div className="grid grid-cols-1 gap-x-3 gap-y-1.5 sm:grid-cols-2">
              <LabelledField label="Name">
                <CopyField text={name} what={`name of the ${type} record of ${domain.name}`} />
              </LabelledField>
              <LabelledField label="Value">
                <CopyField text={value} what={`value of the ${type} record of ${domain.name}`} />
              </LabelledField>
            </div>
            {problem !== null && (
              <p className="mt-1.5 text-sm wrap-anywhere text-ink-2">
                {problem} {remedyOf(record, domain.name)}
              </p>
            )}
          </li>
        )
      })}
    </ul>
  )
}

function LabelledField({ label, children }: { label: string; children: ReactNode }) {
  return (
    <div className="min-w-0">
      <p aria-hidden className="mb-0.5 text-sm text-ink-3">
        {label}
      </p>
      {children}
    </div>
  )
}

/** What the owner of the domain should do about a record that was not found. */
export function remedyOf({ type, state }: Pick<DnsRecord, 'type' | 'state'>, domainName: string): string {
  if (state === 'UNKNOWN') return 'Shoal checks again. If this continues, check the name servers of the domain.'
  if (type === 'TXT') return 'Add it at your DNS provider; other TXT records of that name may stay.'
  // A name with two labels is probably the apex of a zone, where DNS does not allow a CNAME record.
  return domainName.split('.').length === 2
    ? 'A domain without a subdomain cannot have a CNAME record: use an ALIAS or ANAME record, or A and AAAA records with the IP addresses of the host in the field Value.'
    : 'Set it at your DNS provider, and turn off the proxy of the provider for this name.'
}
