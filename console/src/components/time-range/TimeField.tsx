import { controlClass } from '../../ui/Field.tsx'
import { cx } from '../../ui/classes.ts'

type Props = {
  label: string
  value: string | undefined
  /** Whether the field shows and reads the time in UTC instead of the browser's time zone. `value` is always in UTC. */
  isUtc?: boolean
  onChange: (time: string | undefined) => void
}

/** A field for a date and time. `value` is ISO 8601, in UTC; undefined if the field is empty. */
export function TimeField({ label, value, isUtc = false, onChange }: Props) {
  return (
    <label className="flex items-center gap-1.5 text-sm text-ink-2">
      {label}
      <span className="w-54">
        <input
          key={`${value} ${isUtc}`}
          type="datetime-local"
          step={1}
          defaultValue={inputValueOf(value, isUtc)}
          onBlur={({ target }) => target.value !== inputValueOf(value, isUtc) && onChange(isoOf(target.value, isUtc))}
          onKeyDown={(event) => event.key === 'Enter' && event.currentTarget.blur()}
          className={cx(controlClass, 'tabular h-8 px-2')}
        />
      </span>
    </label>
  )
}

const isoOf = (text: string, isUtc: boolean): string | undefined =>
  text === '' ? undefined : new Date(isUtc ? `${text}Z` : text).toISOString()

/** The value of the input for this time: `2026-09-02T14:03:59`. Empty if the time is missing or invalid. */
function inputValueOf(iso: string | undefined, isUtc: boolean): string {
  if (!iso || Number.isNaN(Date.parse(iso))) return ''
  const date = new Date(iso)
  const offsetMs = isUtc ? 0 : date.getTimezoneOffset() * 60_000
  return new Date(date.getTime() - offsetMs).toISOString().slice(0, 19)
}
