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
  /** The user has to type this name, where data is lost. */
  typedName?: string
  /** The dialog awaits it and shows its error. */
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

/** Asks for confirmation in the app's one dialog, which then runs the action. */
export const confirm = (request: ConfirmRequest): void => setRequest(request)
export const closeConfirm = (): void => setRequest(null)
export const useConfirmRequest = (): ConfirmRequest | null => useSyncExternalStore(subscribe, () => request)

/** The same as a promise of the user's choice. */
export function confirmed(request: Omit<ConfirmRequest, 'action' | 'onCancel'>): Promise<boolean> {
  return new Promise((resolve) =>
    confirm({ ...request, action: () => Promise.resolve(resolve(true)), onCancel: () => resolve(false) }),
  )
}
