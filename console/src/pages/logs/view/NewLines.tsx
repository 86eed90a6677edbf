import { ArrowDown, ArrowUp } from 'lucide-react'
import { useState } from 'react'
import { formatInteger } from '../../../lib/format.ts'
import type { Order } from './use-virtual-rows.ts'

type Props = {
  /** Number after the newest line. */
  last: number
  isFollowing: boolean
  /** Newer lines exist that are not loaded. */
  isFar: boolean
  order: Order
  onPress: () => void
}

/** While paused: the number of new lines, as a button that jumps to them. */
export function NewLines({ last, isFollowing, isFar, order, onPress }: Props) {
  const [seen, setSeen] = useState(last)
  if (isFollowing && seen !== last) setSeen(last)
  const count = Math.max(0, last - seen)
  if (isFollowing || (count === 0 && !isFar)) return null
  const Arrow = order === 'asc' ? ArrowDown : ArrowUp
  const text = isFar ? 'Newest lines' : `${formatInteger(count)} new ${count === 1 ? 'line' : 'lines'}`
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
