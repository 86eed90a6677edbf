import { pricedPrograms } from '@shoal/contract'
import { useQuery } from '@tanstack/react-query'
import { useId, useState } from 'react'
import type { Payload } from '../../api/query.ts'
import { pricesQuery } from './queries.ts'
import { LazySelect } from '../../components/LazySelect.tsx'
import { QueryView } from '../../components/QueryView.tsx'
import { formatAmount, formatCents, formatUsd } from '../../lib/format.ts'
import { Card } from '../../ui/Card.tsx'
import { TextField } from '../../ui/TextField.tsx'
import { hoursPerMonth, monthlyUsd } from './calculate.ts'

type Prices = Payload<'billing.getPrices'>[number]

const resourceNames = { api: 'API', processor: 'Processors', postgres: 'Postgres', hasura: 'Hasura' }
const initialPrograms = {
  api: { profile: 'small', count: '1' },
  processor: { profile: 'small', count: '1' },
  postgres: { profile: 'small', count: '1' },
  hasura: { profile: 'small', count: '0' },
}

/** Estimates the monthly cost of a squid from the profiles and numbers of its programs. The user needs no manifest. */
export default function Calculator() {
  const prices = useQuery(pricesQuery)
  return (
    <Card title="Cost calculator" isPadded>
      <QueryView query={prices} what="The prices">
        {([current]) => current && <CostForm prices={current} />}
      </QueryView>
    </Card>
  )
}

function CostForm({ prices }: { prices: Prices }) {
  const [programs, setPrograms] = useState(initialPrograms)
  const [collocated, setCollocated] = useState('0')
  const collocatedHint = useId()
  const [storageGb, setStorageGb] = useState('10')
  const [rpcMillions, setRpcMillions] = useState('2')
  const offeredPrograms = pricedPrograms.filter((resource) => profilesOf(prices, resource).length > 0)
  const total = monthlyUsd(prices, {
    programs: [
      ...offeredPrograms.map((resource) => ({
        type: `${resource}.${programs[resource].profile}`,
        count: parseAmount(programs[resource].count),
      })),
      { type: 'collocated', count: parseAmount(collocated) },
    ],
    storageGb: parseAmount(storageGb),
    rpcMillions: parseAmount(rpcMillions),
  })
  const change = (resource: (typeof pricedPrograms)[number], changes: { profile?: string; count?: string }) =>
    setPrograms({ ...programs, [resource]: { ...programs[resource], ...changes } })
  return (
    <>
      <div className="flex max-w-140 flex-col gap-2.5">
        {offeredPrograms.map((resource) => (
          <div key={resource} className={rowClass}>
            <span aria-hidden className={labelClass}>
              {resourceNames[resource]}
            </span>
            <LazySelect
              label={`Profile of ${resourceNames[resource]}`}
              options={profilesOf(prices, resource)}
              value={programs[resource].profile}
              onChange={(profile) => change(resource, { profile })}
            />
            <TextField
              label={`Number of ${resourceNames[resource]}`}
              isLabelHidden
              inputMode="numeric"
              value={programs[resource].count}
              onChange={({ target }) => change(resource, { count: target.value })}
              className="tabular"
            />
          </div>
        ))}
        <div className={rowClass}>
          <span aria-hidden className={labelClass}>
            Collocated
          </span>
          <span id={collocatedHint} className="text-sm text-ink-2">
            API, processors and database together · {formatUsd(hourlyRateOf(prices, 'collocated'))} per hour
          </span>
          <TextField
            label="Number of collocated squids"
            isLabelHidden
            inputMode="numeric"
            aria-describedby={collocatedHint}
            value={collocated}
            onChange={({ target }) => setCollocated(target.value)}
            className="tabular"
          />
        </div>
        <div className="mt-1 grid gap-3 xs:grid-cols-2">
          <TextField
            label="Database storage, GB"
            inputMode="decimal"
            description={`${formatUsd(Number(prices.storageGbMonthUsd))} per GB and month`}
            value={storageGb}
            onChange={({ target }) => setStorageGb(target.value)}
          />
          <TextField
            label="RPC requests per month, millions"
            inputMode="decimal"
            description={`${formatAmount(Number(prices.rpcIncludedMillions))}M are included`}
            value={rpcMillions}
            onChange={({ target }) => setRpcMillions(target.value)}
          />
        </div>
      </div>
      <p aria-live="polite" className="mt-4 border-t border-line pt-3">
        <span className="tabular text-lg font-semibold">{formatCents(total)}</span>{' '}
        <span className="text-ink-2">per month of {hoursPerMonth} hours, before tax and discounts</span>
      </p>
    </>
  )
}

/** On phones, the label is above the other two columns. */
const rowClass =
  'grid grid-cols-[minmax(0,1fr)_80px] items-center gap-x-3 gap-y-1.5 xs:grid-cols-[90px_minmax(0,1fr)_80px]'
const labelClass = 'text-ink-2 max-xs:col-span-2'

const parseAmount = (text: string): number => Math.max(0, Number(text.replace(',', '.')) || 0)

const hourlyRateOf = ({ rates }: Prices, type: string) => Number(rates.find((rate) => rate.type === type)?.rateUsd ?? 0)

function profilesOf({ rates }: Prices, resource: string) {
  return rates
    .filter(({ type }) => type.startsWith(`${resource}.`))
    .map(({ type, rateUsd }) => ({
      id: type.slice(resource.length + 1),
      label: `${type.slice(resource.length + 1)} · ${formatUsd(Number(rateUsd))} per hour`,
    }))
}
