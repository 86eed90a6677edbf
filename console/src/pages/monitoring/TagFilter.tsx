import { useState } from 'react'
import { LazyMultiSelect } from '../../components/LazySelect.tsx'
import { allTags, pickTags } from './filters.ts'

type Props = { tags: readonly string[]; value: readonly string[]; onChange: (tags: string[]) => void }

/** Spec 2.10: a selection that becomes empty is ignored, and the one before it is ticked again when the list closes. */
export function TagFilter({ tags, value, onChange }: Props) {
  const [isEmptied, setIsEmptied] = useState(false)
  const pick = (ticked: string[]) => {
    const next = pickTags(isEmptied ? [] : value, ticked)
    setIsEmptied(next.length === 0)
    if (next.length > 0) onChange(next)
  }
  return (
    <LazyMultiSelect
      label="Tags"
      className="w-37 max-xs:flex-1"
      none="Choose tags"
      options={[{ id: allTags, label: 'All tags' }, ...tags.map((id) => ({ id, label: id }))]}
      value={isEmptied ? [] : value}
      onChange={pick}
      onOpenChange={(isOpen) => !isOpen && setIsEmptied(false)}
    />
  )
}
