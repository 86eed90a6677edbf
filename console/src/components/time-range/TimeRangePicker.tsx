import { LazySelect } from '../LazySelect.tsx'
import { isCustom, namedRange, searchOfCustom, searchOfNamed, type RangeSearch, type TimeRanges } from './time-range.ts'
import { TimeField } from './TimeField.tsx'

const custom = 'custom'

type Props = {
  ranges: TimeRanges
  search: RangeSearch
  /** Whether custom times are in UTC instead of the user's time zone. */
  isUtc?: boolean
  onChange: (changes: RangeSearch) => void
}

/** Picks a named range or custom times. */
export function TimeRangePicker({ ranges, search, isUtc = false, onChange }: Props) {
  const pick = (id: string) =>
    onChange(id === custom ? searchOfCustom(ranges, search, Date.now()) : searchOfNamed(ranges, id))
  return (
    <>
      <LazySelect
        label="Time range"
        className="w-37 max-xs:flex-1"
        options={[...ranges.options, { id: custom, label: 'From … to …' }]}
        value={isCustom(search) ? custom : namedRange(ranges, search).id}
        onChange={pick}
      />
      {isCustom(search) && (
        <>
          <TimeField
            label="From"
            isUtc={isUtc}
            value={search.from}
            onChange={(from) => onChange({ ...search, from })}
          />
          <TimeField label="To" isUtc={isUtc} value={search.to} onChange={(to) => onChange({ ...search, to })} />
        </>
      )}
    </>
  )
}
