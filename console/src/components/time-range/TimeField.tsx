import { controlClass } from '../../ui/Field.tsx'
import { cx } from '../../ui/classes.ts'

type Props = { label: string; value: string | undefined; onChange: (time: string | undefined) => void }

/** A date and time in the user's time zone; the value is ISO. */
export function TimeField({ label, value, onChange }: Props) {
  return (
    <label className="flex items-center gap-1.5 text-sm text-ink-2">
      {label}
      <span className="w-54">
        <input
          key={value}
          type="datetime-local"
          step={1}
          defaultValue={localOf(value)}
          onBlur={({ target }) => target.value !== localOf(value) && onChange(isoOf(target.value))}
          onKeyDown={(event) => event.key === 'Enter' && event.currentTarget.blur()}
          className={cx(controlClass, 'tabular h-8 px-2')}
        />
      </span>
    </label>
  )
}

const isoOf = (local: string): string | undefined => (local === '' ? undefined : new Date(local).toISOString())

/** `2026-09-02T14:03:59` */
function localOf(iso: string | undefined): string {
  if (!iso || Number.isNaN(Date.parse(iso))) return ''
  const date = new Date(iso)
  return new Date(date.getTime() - date.getTimezoneOffset() * 60_000).toISOString().slice(0, 19)
}
