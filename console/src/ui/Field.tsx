import { useId, type ReactNode } from 'react'
import { cx } from './classes.ts'

export type FieldTexts = {
  label: string
  /** Hides the label visually; screen readers still read it. */
  isLabelHidden?: boolean
  description?: ReactNode
  error?: string | undefined
  /** Shown next to the label, such as the link “Forgot password?”. */
  labelAction?: ReactNode
  className?: string
}

/** Ids that connect a control to its label, description and error. */
export function useFieldIds({ description, error }: Pick<FieldTexts, 'description' | 'error'>) {
  const id = useId()
  const describedBy = error ? `${id}-error` : description ? `${id}-description` : undefined
  return {
    id,
    control: { id, 'aria-describedby': describedBy, 'aria-invalid': error ? true : undefined },
  }
}

/** Classes of the label, description and error of a field. */
export const labelClass = 'text-sm font-medium text-ink'
export const descriptionClass = 'text-xs text-ink-3'
export const errorClass = 'text-xs text-bad'

/** Classes for the border, background and states of every input and select. */
export const controlClass =
  'w-full rounded-md border border-control bg-canvas text-ink transition-colors not-disabled:hover:border-ink-3 focus-visible:-outline-offset-1 disabled:border-line disabled:bg-subtle disabled:text-ink-3 [&[readonly]]:border-line [&[readonly]]:bg-subtle aria-invalid:border-bad data-invalid:border-bad'

/** A label, a control, and the error or the description. One replaces the other, so that the field keeps its height. */
export function Field({ id, children, ...texts }: FieldTexts & { id: string; children: ReactNode }) {
  const { label, isLabelHidden, description, error, labelAction, className } = texts
  return (
    <div className={cx('flex flex-col gap-1.5', className)}>
      <div className={cx('flex items-baseline justify-between gap-3', isLabelHidden && 'sr-only')}>
        <label htmlFor={id} className={labelClass}>
          {label}
        </label>
        {labelAction}
      </div>
      {children}
      <FieldNote id={id} description={description} error={error} />
    </div>
  )
}

/** The error of a field, or its description if there is no error. Its element has the id that `useFieldIds` refers to. */
export function FieldNote({
  id,
  description,
  error,
}: {
  id: string
  description?: ReactNode
  error?: string | undefined
}) {
  if (error)
    return (
      <p id={`${id}-error`} className={errorClass} role="alert">
        {error}
      </p>
    )
  if (!description) return null
  return (
    <p id={`${id}-description`} className={descriptionClass}>
      {description}
    </p>
  )
}
