import type { ReactNode } from 'react'
import { createStore } from '../lib/store.ts'

export type ConfirmRequest = {
  /** A question that names the subject of the action: `Delete erc20-transfers@fj0anc?` */
  title: string
  /** What is lost and what is kept. */
  body: ReactNode
  /** A verb: `Delete`. */
  confirmLabel: string
  cancelLabel?: string
  isDanger?: boolean
  /** A name that the user has to type first; for actions that delete data. */
  typedName?: string
  /** Called when the user confirms. The dialog stays open until its promise is fulfilled, and shows the error if it is rejected. */
  action: () => Promise<unknown>
  /** Called when the user cancels. */
  onCancel?: () => void
}

const requested = createStore<ConfirmRequest | null>(null)

/** Opens the confirmation dialog, which runs the action if the user confirms. */
export const confirm = (request: ConfirmRequest): void => requested.set(request)
/** Closes the confirmation dialog without calling a callback. */
export const closeConfirm = (): void => requested.set(null)
/** The request that the confirmation dialog shows; null if it is closed. */
export const useConfirmRequest = requested.use

/** Like `confirm`, but returns a promise: true if the user confirms, false if they cancel. */
export function confirmed(request: Omit<ConfirmRequest, 'action' | 'onCancel'>): Promise<boolean> {
  return new Promise((resolve) =>
    confirm({ ...request, action: () => Promise.resolve(resolve(true)), onCancel: () => resolve(false) }),
  )
}
