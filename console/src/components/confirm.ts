import { useSyncExternalStore, type ReactNode } from 'react'

export type Question = {
  /** Names the thing: `Delete erc20-transfers@fj0anc?` */
  title: string
  /** What is lost, and what is kept. */
  body: ReactNode
  /** The verb: `Delete`. */
  confirmLabel: string
  cancelLabel?: string
  isDanger?: boolean
  /** To be typed before it is done, where data is lost. */
  typedName?: string
  /** The dialog waits for it, and shows why it failed. */
  action: () => Promise<unknown>
  /** It was left without an answer. */
  onCancel?: () => void
}

let question: Question | null = null
const listeners = new Set<() => void>()

function set(next: Question | null): void {
  question = next
  for (const tell of listeners) tell()
}

const subscribe = (tell: () => void) => {
  listeners.add(tell)
  return () => listeners.delete(tell)
}

/** Asks before something that matters. One dialog for the app, fed with an action that returns a promise. */
export const confirm = (asked: Question): void => set(asked)
export const closeConfirm = (): void => set(null)
export const useQuestion = (): Question | null => useSyncExternalStore(subscribe, () => question)

/** The same, as a promise of yes or no. */
export function confirmed(asked: Omit<Question, 'action' | 'onCancel'>): Promise<boolean> {
  return new Promise((resolve) =>
    confirm({ ...asked, action: () => Promise.resolve(resolve(true)), onCancel: () => resolve(false) }),
  )
}
