import { Check, ChevronsUpDown } from 'lucide-react'
import { useEffect, useState, type ReactNode } from 'react'
import { Button, Label, ListBox, ListBoxItem, Popover, Select as AriaSelect, SelectValue } from 'react-aria-components'
import { descriptionClass, errorClass, labelClass } from './Field.tsx'
import { cx } from './classes.ts'
import { itemClass, popoverClass, triggerClass, triggerEdgeClass, type Option } from './control-classes.ts'
import { selectionText } from './selection-text.ts'

type FieldAppearance = {
  label: string
  isLabelHidden?: boolean
  description?: ReactNode
  error?: string | undefined
  isDisabled?: boolean
  className?: string
  /** Opens the options when the select is mounted, because the select replaces a button that the user has just pressed. */
  isInitiallyOpen?: boolean
  onOpenChange?: (isOpen: boolean) => void
}

/**
 * Whether the options are open. They open only after the trigger has received the focus, so that the focus returns to the trigger when
 * they close.
 */
function useOpening({ isInitiallyOpen = false, onOpenChange }: FieldAppearance) {
  const [isOpen, setIsOpen] = useState(false)
  useEffect(() => {
    if (!isInitiallyOpen) return undefined
    const frame = requestAnimationFrame(() => setIsOpen(true))
    return () => cancelAnimationFrame(frame)
  }, [isInitiallyOpen])
  const change = (isNowOpen: boolean) => {
    setIsOpen(isNowOpen)
    onOpenChange?.(isNowOpen)
  }
  return { isOpen, onOpenChange: change, autoFocus: isInitiallyOpen }
}

type Props<Id extends string> = FieldAppearance & {
  options: readonly Option<Id>[]
  value: Id | null
  onChange: (id: Id) => void
  placeholder?: string
}

/** A select for one option. */
export function Select<Id extends string>({
  options,
  value,
  onChange,
  placeholder = 'Choose',
  ...appearance
}: Props<Id>) {
  const opening = useOpening(appearance)
  const pick = (key: unknown) => {
    const option = options.find(({ id }) => id === key)
    if (option) onChange(option.id)
  }
  return (
    <AriaSelect
      value={value}
      onChange={pick}
      {...opening}
      placeholder={placeholder}
      aria-label={appearance.isLabelHidden ? appearance.label : undefined}
      isDisabled={appearance.isDisabled ?? false}
      isInvalid={Boolean(appearance.error)}
      className={cx('flex flex-col gap-1.5', appearance.className)}
    >
      <SelectParts appearance={appearance} options={options}>
        <SelectValue className="flex-1 truncate data-placeholder:text-ink-3">
          {({ selectedText }) => selectedText || placeholder}
        </SelectValue>
      </SelectParts>
    </AriaSelect>
  )
}

type MultiProps<Id extends string> = FieldAppearance & {
  options: readonly Option<Id>[]
  value: readonly Id[]
  onChange: (ids: Id[]) => void
  /** The text of an empty selection: `Any status`. */
  none: string
}

/** A select for several options. An empty selection means that nothing is filtered. */
export function MultiSelect<Id extends string>({ options, value, onChange, none, ...appearance }: MultiProps<Id>) {
  const opening = useOpening(appearance)
  return (
    <AriaSelect
      selectionMode="multiple"
      value={[...value]}
      onChange={(keys: readonly unknown[]) => onChange(options.flatMap(({ id }) => (keys.includes(id) ? [id] : [])))}
      {...opening}
      aria-label={appearance.isLabelHidden ? appearance.label : undefined}
      isDisabled={appearance.isDisabled ?? false}
      isInvalid={Boolean(appearance.error)}
      className={cx('flex flex-col gap-1.5', appearance.className)}
    >
      <SelectParts appearance={appearance} options={options}>
        <SelectValue className="flex-1 truncate data-placeholder:text-ink-3">
          {selectionText(options, value, none)}
        </SelectValue>
      </SelectParts>
    </AriaSelect>
  )
}

function SelectParts({
  appearance,
  options,
  children,
}: {
  appearance: FieldAppearance
  options: readonly Option[]
  children: ReactNode
}) {
  return (
    <>
      {!appearance.isLabelHidden && <Label className={labelClass}>{appearance.label}</Label>}
      <Button className={cx(triggerClass, appearance.error ? 'border-bad' : triggerEdgeClass)}>
        {children}
        <ChevronsUpDown size={14} aria-hidden className="shrink-0 text-ink-3" />
      </Button>
      {appearance.error ? (
        <p role="alert" className={errorClass}>
          {appearance.error}
        </p>
      ) : (
        appearance.description && <p className={descriptionClass}>{appearance.description}</p>
      )}
      <Popover offset={4} className={cx(popoverClass, 'min-w-(--trigger-width)')}>
        <ListBox className="outline-none">
          {options.map((option) => (
            <OptionItem key={option.id} option={option} />
          ))}
        </ListBox>
      </Popover>
    </>
  )
}

/** An option, with a check mark if it is selected. */
function OptionItem({ option }: { option: Option }) {
  return (
    <ListBoxItem id={option.id} textValue={option.label} isDisabled={option.isDisabled ?? false} className={itemClass}>
      {({ isSelected }) => (
        <>
          <span className="min-w-0 flex-1">
            <span className="block truncate">{option.label}</span>
            {option.description && <span className="block text-xs text-ink-3">{option.description}</span>}
          </span>
          <Check size={14} aria-hidden className={isSelected ? 'shrink-0 text-accent' : 'invisible shrink-0'} />
        </>
      )}
    </ListBoxItem>
  )
}
