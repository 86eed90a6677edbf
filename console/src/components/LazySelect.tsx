import { ChevronsUpDown } from 'lucide-react'
import { useState, type ComponentProps, type KeyboardEvent, type ReactNode } from 'react'
import type { MultiSelect, Select } from '../ui/Select.tsx'
import { cx } from '../ui/classes.ts'
import { triggerClass, triggerEdgeClass } from '../ui/control-classes.ts'
import { prefetch } from '../ui/prefetch.ts'
import { selectionText } from '../ui/selection-text.ts'

const load = () => import('../ui/Select.tsx')
type Selects = Awaited<ReturnType<typeof load>>

/** A select for filters without a visible label. Until the user opens it, it is a plain button, so that the page does not load its code. */
export function LazySelect<Id extends string>(props: ComponentProps<typeof Select<Id>>) {
  const { options, value, placeholder = 'Choose' } = props
  const selected = options.find(({ id }) => id === value)
  return (
    <PlainUntilOpened
      {...props}
      text={selected?.label ?? placeholder}
      isEmpty={!selected}
      render={(selects) => <selects.Select {...props} isLabelHidden isInitiallyOpen />}
    />
  )
}

/** Like `LazySelect`, for a selection of several options. */
export function LazyMultiSelect<Id extends string>(props: ComponentProps<typeof MultiSelect<Id>>) {
  const { options, value, none } = props
  return (
    <PlainUntilOpened
      {...props}
      text={selectionText(options, value, none)}
      isEmpty={value.length === 0}
      render={(selects) => <selects.MultiSelect {...props} isLabelHidden isInitiallyOpen />}
    />
  )
}

type PlainProps = {
  label: string
  /** The selection, as text. */
  text: string
  isEmpty: boolean
  isDisabled?: boolean
  className?: string
  /** Renders the select, which opens when it is mounted. */
  render: (selects: Selects) => ReactNode
}

/** A button that loads the select on hover or focus, and becomes the open select when the user presses it. */
function PlainUntilOpened({ label, text, isEmpty, isDisabled = false, className, render }: PlainProps) {
  const [selects, setSelects] = useState<Selects | null>(null)
  const prepare = () => prefetch(load)
  const open = () => void load().then(setSelects)
  const openByArrow = (event: KeyboardEvent) => {
    if (event.key !== 'ArrowDown' && event.key !== 'ArrowUp') return
    event.preventDefault()
    open()
  }
  if (selects) return render(selects)
  return (
    <div className={className}>
      <button
        type="button"
        aria-haspopup="listbox"
        aria-expanded={false}
        aria-label={`${text} ${label}`}
        disabled={isDisabled}
        data-disabled={isDisabled || undefined}
        onPointerEnter={prepare}
        onFocus={prepare}
        onClick={open}
        onKeyDown={openByArrow}
        className={cx(triggerClass, triggerEdgeClass)}
      >
        <span className={cx('flex-1 truncate', isEmpty && 'text-ink-3')}>{text}</span>
        <ChevronsUpDown size={14} aria-hidden className="shrink-0 text-ink-3" />
      </button>
    </div>
  )
}
