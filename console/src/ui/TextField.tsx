import { useState, type ComponentProps } from 'react'
import { cx } from './classes.ts'
import { controlClass, Field, useFieldIds, type FieldTexts } from './Field.tsx'

type TextFieldOwnProps = FieldTexts & { size?: 32 | 36; isMono?: boolean }
type Props = TextFieldOwnProps &
  Omit<ComponentProps<'input'>, 'size' | 'type'> & {
    type?: 'text' | 'email' | 'password' | 'number' | 'url' | 'datetime-local'
  }

const heights = { 32: 'h-8 px-2.5', 36: 'h-9 px-3 text-md' }

/** A single-line input. Accepts the result of a form's `register`. An input for a password has a button that shows the password. */
export function TextField({
  label,
  isLabelHidden,
  description,
  error,
  labelAction,
  className,
  size = 32,
  isMono,
  type = 'text',
  ...input
}: Props) {
  const { id, control } = useFieldIds({ description, error })
  const [isShown, setIsShown] = useState(false)
  const isPassword = type === 'password'
  return (
    <Field id={id} {...{ label, isLabelHidden, description, error, labelAction, className }}>
      <div className="relative">
        <input
          {...control}
          {...input}
          type={isPassword && isShown ? 'text' : type}
          className={cx(controlClass, heights[size], isMono && 'font-mono text-sm', isPassword && 'pr-14')}
        />
        {isPassword && (
          <button
            type="button"
            aria-label={isShown ? 'Hide password' : 'Show password'}
            aria-controls={id}
            onClick={() => setIsShown(!isShown)}
            className="absolute inset-y-1 right-1 rounded-sm px-2 text-sm text-ink-3 hover:text-ink"
          >
            {isShown ? 'Hide' : 'Show'}
          </button>
        )}
      </div>
    </Field>
  )
}

type AreaProps = FieldTexts & { isMono?: boolean } & ComponentProps<'textarea'>

/** A multi-line input that grows with its text. */
export function TextArea({
  label,
  isLabelHidden,
  description,
  error,
  labelAction,
  className,
  isMono,
  rows = 3,
  ...area
}: AreaProps) {
  const { id, control } = useFieldIds({ description, error })
  return (
    <Field id={id} {...{ label, isLabelHidden, description, error, labelAction, className }}>
      <textarea
        {...control}
        {...area}
        rows={rows}
        className={cx(
          controlClass,
          'field-sizing-content max-h-96 min-h-20 px-2.5 py-1.5',
          isMono && 'font-mono text-sm',
        )}
      />
    </Field>
  )
}
