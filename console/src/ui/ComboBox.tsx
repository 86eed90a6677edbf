import { ChevronsUpDown } from 'lucide-react'
import { Button, ComboBox as AriaComboBox, Input, Label, ListBox, Popover } from 'react-aria-components'
import { cx } from './classes.ts'
import { controlClass, descriptionClass, errorClass, labelClass } from './Field.tsx'
import { popoverClass, type Option } from './option-list.ts'
import { OptionItem } from './OptionItem.tsx'

type Props<Id extends string> = {
  label: string
  options: readonly Option<Id>[]
  value: Id | null
  onChange: (id: Id | null) => void
  placeholder?: string
  description?: string
  error?: string | undefined
  isDisabled?: boolean
  className?: string
}

/** One of many: typing narrows the list. */
export function ComboBox<Id extends string>({ label, options, value, onChange, ...look }: Props<Id>) {
  return (
    <AriaComboBox
      value={value}
      onChange={(key) => onChange(options.find(({ id }) => id === key)?.id ?? null)}
      isInvalid={Boolean(look.error)}
      isDisabled={look.isDisabled ?? false}
      menuTrigger="focus"
      allowsEmptyCollection
      className={cx('flex flex-col gap-1.5', look.className)}
    >
      <Label className={labelClass}>{label}</Label>
      <div className="relative">
        <Input placeholder={look.placeholder} className={cx(controlClass, 'h-8 pr-8 pl-2.5')} />
        <Button className="absolute inset-y-0 right-0 grid w-8 place-items-center text-ink-3">
          <ChevronsUpDown size={14} aria-hidden />
        </Button>
      </div>
      {look.error ? (
        <p role="alert" className={errorClass}>
          {look.error}
        </p>
      ) : (
        look.description && <p className={descriptionClass}>{look.description}</p>
      )}
      <Popover offset={4} className={popoverClass}>
        <ListBox
          className="outline-none"
          renderEmptyState={() => <p className="px-2 py-1.5 text-ink-3">Nothing matches</p>}
        >
          {options.map((option) => (
            <OptionItem key={option.id} option={option} />
          ))}
        </ListBox>
      </Popover>
    </AriaComboBox>
  )
}
