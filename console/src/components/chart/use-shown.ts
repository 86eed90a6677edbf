import { useMemo, useState } from 'react'
import type { ChartData } from './chart-data.ts'

const none: ReadonlySet<string> = new Set()

/** Which series the reader wants to see. `shown` keeps its identity while data and wishes do. */
export function useShown(data: ChartData | undefined) {
  const [toggled, setToggled] = useState(none)
  const hidden = useMemo(() => {
    const isHidden = ({ label, isHiddenAtFirst = false }: ChartData['series'][number]) =>
      isHiddenAtFirst !== toggled.has(label)
    return new Set(data?.series.filter(isHidden).map(({ label }) => label))
  }, [data, toggled])
  const shown = useMemo(() => {
    // A colour stays with its series, whoever is shown beside it.
    const series = data?.series.map((one, at) => ({ ...one, color: one.color ?? (at % 6) + 1 }))
    return data && series && { ...data, series: series.filter(({ label }) => !hidden.has(label)) }
  }, [data, hidden])
  const toggle = (label: string) =>
    setToggled((before) => new Set(before.has(label) ? [...before].filter((one) => one !== label) : [...before, label]))
  return { hidden, shown, toggle }
}
