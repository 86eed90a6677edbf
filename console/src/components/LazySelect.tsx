import { Suspense, type ComponentProps } from 'react'
import type { MultiSelect, Select } from '../ui/Select.tsx'
import { cx } from '../ui/classes.ts'
import { triggerClass } from '../ui/control-classes.ts'
import { lazyPart } from '../lib/lazy.tsx'

const load = () => import('../ui/Select.tsx')
const LoadedSelect = lazyPart(async () => ({ default: (await load()).Select }))
const LoadedMultiSelect = lazyPart(async () => ({
  default: (await load()).MultiSelect,
}))

/** A select for filters without a visible label. Its code loads after the page; a placeholder reserves the space. */
export function LazySelect<Id extends string>(props: ComponentProps<typeof Select<Id>>) {
  const selectedLabel = props.options.find(({ id }) => id === props.value)?.label
  return (
    <Suspense
      fallback={<SelectPlaceholder text={selectedLabel ?? props.placeholder ?? ''} className={props.className} />}
    >
      <LoadedSelect {...props} isLabelHidden />
    </Suspense>
  )
}

export function LazyMultiSelect<Id extends string>(props: ComponentProps<typeof MultiSelect<Id>>) {
  return (
    <Suspense fallback={<SelectPlaceholder text={props.none} className={props.className} />}>
      <LoadedMultiSelect {...props} isLabelHidden />
    </Suspense>
  )
}

function SelectPlaceholder({ text, className }: { text: string; className: string | undefined }) {
  return (
    <div aria-hidden className={className}>
      <div className={cx(triggerClass, 'text-ink-3')}>{text}</div>
    </div>
  )
}
