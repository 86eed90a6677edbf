import { useSyncExternalStore, type ReactNode } from 'react'

export type ConfirmRequest = {
  /** Names the thing: `Delete erc20-transfers@fj0anc?` */
  title: string
  /** What is lost and what is kept. */
  body: ReactNode
  /** A verb: `Delete`. */
  confirmLabel: string
  cancelLabel?: string
  isDanger?: boolean
  /** A name that the user has to type first; for actions that delete data. */
  typedName?: string
  /** Run on confirmation. The dialog stays open until it succeeds, and shows its error. */
  action: () => Promise<unknown>
  /** Called when the user cancels. */
  onCancel?: () => void
}

let request: ConfirmRequest | null = null
const listeners = new Set<() => void>()

function setRequest(next: ConfirmRequest | null): void {
  request = next
  for (const listener of listeners) listener()
}

const subscribe = (listener: () => void) => {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

/** Opens the confirmation dialog, which runs the action if the user confirms. */
export const confirm = (request: ConfirmRequest): void => setRequest(request)
export const closeConfirm = (): void => setRequest(null)
export const useConfirmRequest = (): ConfirmRequest | null => useSyncExternalStore(subscribe, () => request)

/** Like `confirm`, but returns a promise: true if the user confirms, false if they cancel. */
export function confirmed(request: Omit<ConfirmRequest, 'action' | 'onCancel'>): Promise<boolean> {
  return new Promise((resolve) =>
    confirm({ ...request, action: () => Promise.resolve(resolve(true)), onCancel: () => resolve(false) }),
  )
}
