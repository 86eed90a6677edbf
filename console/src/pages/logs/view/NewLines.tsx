import { ArrowDown, ArrowUp } from 'lucide-react'
import { useState } from 'react'
import { countOf } from '../../../lib/format.ts'
import type { Order } from './use-virtual-rows.ts'

type Props = {
  /** The number that the next line will have. */
  nextNumber: number
  isFollowing: boolean
  /** Whether newer lines exist that are not loaded. */
  isEndUnloaded: boolean
  order: Order
  onPress: () => void
}

/** While the view does not follow new lines, a button that jumps to them. It shows how many there are, if all of them are loaded. */
export function NewLines({ nextNumber, isFollowing, isEndUnloaded, order, onPress }: Props) {
  const [firstUnseenNumber, setFirstUnseenNumber] = useState(nextNumber)
  if (isFollowing && firstUnseenNumber !== nextNumber) setFirstUnseenNumber(nextNumber)
  const count = Math.max(0, nextNumber - firstUnseenNumber)
  if (isFollowing || (count === 0 && !isEndUnloaded)) return null
  const Arrow = order === 'asc' ? ArrowDown : ArrowUp
  const text = isEndUnloaded ? 'Newest lines' : countOf(count, 'new line')
  return (
    <button
      type="button"
      onClick={onPress}
      className={`absolute left-1/2 inline-flex h-8 -translate-x-1/2 items-center gap-1.5 rounded-full bg-ink px-3.5 font-medium text-canvas shadow-overlay ${order === 'asc' ? 'bottom-4' : 'top-11'}`}
    >
      <Arrow size={14} aria-hidden />
      {text}
    </button>
  )
}
