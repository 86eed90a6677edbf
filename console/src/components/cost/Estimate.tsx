import { billableLabel, type CostEstimate } from '@shoal/contract'
import { useQuery } from '@tanstack/react-query'
import { useEffect, useState } from 'react'
import { errorText } from '../../api/error-text.ts'
import { formatAmount, formatCents, formatHourlyUsd } from '../../lib/format.ts'
import { Alert } from '../../ui/Alert.tsx'
import { cx } from '../../ui/classes.ts'
import { numberClass, tableClass, tdClass, thClass } from '../../ui/control-classes.ts'
import { estimateQuery } from './profile-manifest.ts'

const debounceMs = 400

/** Shows the cost of a squid with this manifest. Requests it again when the user has stopped typing. */
export function Estimate({ code, manifest }: { code: string; manifest: string }) {
  const estimate = useQuery(estimateQuery(code, useDebounced(manifest)))
  if (estimate.error) return <Alert tone="bad">{errorText(estimate.error)}</Alert>
  return <CostTotals estimate={estimate.data} />
}

function useDebounced(text: string): string {
  const [debounced, setDebounced] = useState(text)
  useEffect(() => {
    const timer = setTimeout(() => setDebounced(text), debounceMs)
    return () => clearTimeout(timer)
  }, [text])
  return debounced
}

function CostTotals({ estimate }: { estimate: CostEstimate | undefined }) {
  return (
    <div aria-live="polite" aria-busy={estimate === undefined}>
      <div className="overflow-hidden rounded-md border border-line">
        <table className={tableClass} aria-label="Estimated cost">
          <thead>
            <tr>
              <th className={thClass}>Resource</th>
              <th className={cx(thClass, numberClass)}>Quantity</th>
              <th className={cx(thClass, numberClass, 'max-xs:hidden')}>Per hour</th>
              <th className={cx(thClass, numberClass)}>Per month</th>
            </tr>
          </thead>
          <tbody>
            {estimate?.items.map(({ type, count, perHourUsd, perMonthUsd }) => (
              <tr key={type}>
                <td className={cx(tdClass, 'py-1')}>
                  {type === 'storage' ? 'Postgres SSD storage (GB)' : billableLabel(type)}
                </td>
                <td className={cx(tdClass, numberClass)}>{formatAmount(Number(count))}</td>
                <td className={cx(tdClass, numberClass, 'max-xs:hidden')}>{formatHourlyUsd(perHourUsd)}</td>
                <td className={cx(tdClass, numberClass)}>{formatCents(perMonthUsd)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      <p className="mt-3 flex flex-wrap items-baseline gap-x-2">
        <span className="tabular text-lg font-semibold">{estimate ? formatCents(estimate.perMonthUsd) : '–'}</span>
        <span className="text-ink-2">
          per month of {estimate?.hoursPerMonth ?? 720} hours
          {Number(estimate?.discountPercent ?? 0) > 0 && `, less your discount of ${estimate?.discountPercent}%`}
        </span>
      </p>
      <p className="mt-1 text-sm text-ink-3">
        Excludes tax and RPC requests. You pay only while the squid runs; a hibernated squid is billed for storage only.
      </p>
    </div>
  )
}
