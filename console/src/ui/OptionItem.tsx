import { Check } from 'lucide-react'
import { ListBoxItem } from 'react-aria-components'
import { itemClass, type Option } from './option-list.ts'

/** One option of a list, with a tick when it is chosen. */
export function OptionItem({ option }: { option: Option }) {
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
