import { createStore } from '../../lib/store.ts'
import type { Action } from '../../ui/action.ts'

export type OverlayName = 'palette' | 'keyboard'

const openOverlay = createStore<OverlayName | null>(null)

export const jumpAction: Action = {
  label: 'Jump to a squid, page or action',
  keys: 'mod+k',
  run: () => openOverlay.set('palette'),
}
export const keyboardHelpAction: Action = {
  label: 'Keyboard shortcuts',
  keys: '?',
  run: () => openOverlay.set('keyboard'),
}
export const closeOverlay = (): void => openOverlay.set(null)

/** The open overlay of the app; null if none is open. At most one is open at a time. */
export const useOpenOverlay = openOverlay.use
