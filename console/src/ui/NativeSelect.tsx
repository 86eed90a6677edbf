import { ChevronsUpDown } from 'lucide-react'
import type { ComponentProps } from 'react'
import { controlClass, Field, useFieldIds, type FieldTexts } from './Field.tsx'
import { cx } from './classes.ts'
import { type Option } from './control-classes.ts'

type Props = FieldTexts & { options: readonly Option[]; placeholder?: string } & ComponentProps<'select'>

/**
 * A native select element, which has type-ahead, a native picker on phones, and autofill. Accepts the result of a form's `register`.
 */
export function NativeSelect({
  label,
  isLabelHidden,
  description,
  error,
  labelAction,
  className,
  options,
  placeholder,
  ...select
}: Props) {
  const { id, control } = useFieldIds({ description, error })
  return (
    <Field id={id} {...{ label, isLabelHidden, description, error, labelAction, className }}>
      <div className="relative">
        <select {...control} {...select} className={cx(controlClass, 'h-8 appearance-none pr-8 pl-2.5')}>
          {placeholder && <option value="">{placeholder}</option>}
          {options.map((option) => (
            <option key={option.id} value={option.id}>
              {option.label}
            </option>
          ))}
        </select>
        <ChevronsUpDown
          size={14}
          aria-hidden
          className="pointer-events-none absolute inset-y-0 right-2.5 my-auto text-ink-3"
        />
      </div>
    </Field>
  )
}
