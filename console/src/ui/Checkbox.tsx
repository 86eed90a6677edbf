import { Check } from 'lucide-react'
import { useId, type ComponentProps, type ReactNode } from 'react'
import { cx } from './classes.ts'
import { errorClass } from './Field.tsx'

type Props = Omit<ComponentProps<'input'>, 'type'> & {
  children: ReactNode
  description?: ReactNode
  error?: string | undefined
}

/** A checkbox with its label. Accepts the result of a form's `register`. */
export function Checkbox({ children, description, error, className, ...input }: Props) {
  const id = useId()
  return (
    <div className={className}>
      <label className="flex items-start gap-2.5 has-disabled:text-ink-3">
        <span className="relative mt-0.5 size-4 shrink-0">
          <input
            {...input}
            type="checkbox"
            aria-invalid={error ? true : undefined}
            aria-describedby={error ? id : undefined}
            className="peer block size-4 appearance-none rounded-sm border border-control bg-canvas transition-colors not-disabled:hover:border-ink-3 checked:border-accent checked:bg-accent disabled:border-line disabled:bg-muted aria-invalid:border-bad"
          />
          <Check
            size={12}
            strokeWidth={3}
            aria-hidden
            className="pointer-events-none absolute top-0.5 left-0.5 hidden text-on-accent peer-checked:block peer-disabled:text-ink-3"
          />
        </span>
        <span>
          {children}
          {description && <span className="block text-xs text-ink-3">{description}</span>}
        </span>
      </label>
      {error && (
        <p id={id} role="alert" className={cx(errorClass, 'mt-1 ml-6.5')}>
          {error}
        </p>
      )}
    </div>
  )
}
