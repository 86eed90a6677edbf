import { ChevronsUpDown } from 'lucide-react'
import type { ReactNode } from 'react'
import { Button, Label, ListBox, Popover, Select as AriaSelect, SelectValue } from 'react-aria-components'
import { cx } from './classes.ts'
import { descriptionClass, errorClass, labelClass } from './Field.tsx'
import { popoverClass, triggerClass, type Option } from './option-list.ts'
import { OptionItem } from './OptionItem.tsx'

type Look = {
  label: string
  isLabelHidden?: boolean
  description?: ReactNode
  error?: string | undefined
  isDisabled?: boolean
  className?: string
}

type Props<Id extends string> = Look & {
  options: readonly Option<Id>[]
  value: Id | null
  onChange: (id: Id) => void
  placeholder?: string
}

/** One of several. */
export function Select<Id extends string>({ options, value, onChange, placeholder = 'Choose', ...look }: Props<Id>) {
  const pick = (key: unknown) => {
    const option = options.find(({ id }) => id === key)
    if (option) onChange(option.id)
  }
  return (
    <AriaSelect
      value={value}
      onChange={pick}
      placeholder={placeholder}
      aria-label={look.isLabelHidden ? look.label : undefined}
      isDisabled={look.isDisabled ?? false}
      isInvalid={Boolean(look.error)}
      className={cx('flex flex-col gap-1.5', look.className)}
    >
      <Anatomy look={look} options={options}>
        <SelectValue className="flex-1 truncate data-placeholder:text-ink-3">
          {({ selectedText }) => selectedText || placeholder}
        </SelectValue>
      </Anatomy>
    </AriaSelect>
  )
}

type MultiProps<Id extends string> = Look & {
  options: readonly Option<Id>[]
  value: readonly Id[]
  onChange: (ids: Id[]) => void
  /** What an empty selection means: `Any status`. */
  none: string
  onOpenChange?: (isOpen: boolean) => void
}

/** Any number of several; nothing chosen means no filter. */
export function MultiSelect<Id extends string>({
  options,
  value,
  onChange,
  none,
  onOpenChange,
  ...look
}: MultiProps<Id>) {
  const names = options.filter(({ id }) => value.includes(id)).map(({ label }) => label)
  return (
    <AriaSelect
      selectionMode="multiple"
      value={[...value]}
      onChange={(keys: readonly unknown[]) => onChange(options.flatMap(({ id }) => (keys.includes(id) ? [id] : [])))}
      onOpenChange={onOpenChange}
      aria-label={look.isLabelHidden ? look.label : undefined}
      isDisabled={look.isDisabled ?? false}
      isInvalid={Boolean(look.error)}
      className={cx('flex flex-col gap-1.5', look.className)}
    >
      <Anatomy look={look} options={options}>
        <SelectValue className="flex-1 truncate data-placeholder:text-ink-3">
          {names.length > 2 ? `${names.length} selected` : names.join(', ') || none}
        </SelectValue>
      </Anatomy>
    </AriaSelect>
  )
}

function Anatomy({ look, options, children }: { look: Look; options: readonly Option[]; children: ReactNode }) {
  return (
    <>
      {!look.isLabelHidden && <Label className={labelClass}>{look.label}</Label>}
      <Button className={cx(triggerClass, look.error && 'border-bad!')}>
        {children}
        <ChevronsUpDown size={14} aria-hidden className="shrink-0 text-ink-3" />
      </Button>
      {look.error ? (
        <p role="alert" className={errorClass}>
          {look.error}
        </p>
      ) : (
        look.description && <p className={descriptionClass}>{look.description}</p>
      )}
      <Popover offset={4} className={popoverClass}>
        <ListBox className="outline-none">
          {options.map((option) => (
            <OptionItem key={option.id} option={option} />
          ))}
        </ListBox>
      </Popover>
    </>
  )
}
