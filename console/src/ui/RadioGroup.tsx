import { useId, type ReactNode } from 'react'
import { cx } from './classes.ts'
import { FieldNote, labelClass } from './Field.tsx'

export type RadioOption<V extends string> = { value: V; label: string; description?: ReactNode; isDisabled?: boolean }

type Props<V extends string> = {
  label: string
  options: readonly RadioOption<V>[]
  value: V | null
  onChange: (value: V) => void
  description?: ReactNode
  error?: string | undefined
  /** Shows the options side by side, for short labels. */
  isInline?: boolean
  className?: string
}

/** Radio buttons, of which the user selects one. */
export function RadioGroup<V extends string>({
  label,
  options,
  value,
  onChange,
  description,
  error,
  isInline,
  className,
}: Props<V>) {
  const id = useId()
  return (
    <fieldset className={className} aria-describedby={error ? `${id}-error` : undefined}>
      <legend className={cx(labelClass, 'mb-2')}>{label}</legend>
      <div className={cx('flex gap-y-2', isInline ? 'flex-wrap gap-x-5' : 'flex-col')}>
        {options.map((option) => (
          <label key={option.value} className="flex items-start gap-2.5 has-disabled:text-ink-3">
            <input
              type="radio"
              name={id}
              checked={option.value === value}
              disabled={option.isDisabled}
              onChange={() => onChange(option.value)}
              className="mt-0.5 size-4 shrink-0 appearance-none rounded-full border border-control bg-canvas transition-colors not-disabled:hover:border-ink-3 checked:border-5 checked:border-accent disabled:border-line disabled:bg-muted"
            />
            <span>
              {option.label}
              {option.description && <span className="block text-xs text-ink-3">{option.description}</span>}
            </span>
          </label>
        ))}
      </div>
      <div className="mt-1.5">
        <FieldNote id={id} description={description} error={error} />
      </div>
    </fieldset>
  )
}
