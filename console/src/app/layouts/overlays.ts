import { useSyncExternalStore } from 'react'

export type OverlayName = 'palette' | 'keyboard'

let open: OverlayName | null = null
const listeners = new Set<() => void>()

function setOpen(name: OverlayName | null): void {
  open = name
  for (const listener of listeners) listener()
}

const subscribe = (listener: () => void) => {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

export const openPalette = (): void => setOpen('palette')
export const openKeyboardHelp = (): void => setOpen('keyboard')
export const closeOverlay = (): void => setOpen(null)

/** The open overlay of the app; at most one is open. */
export const useOpenOverlay = (): OverlayName | null => useSyncExternalStore(subscribe, () => open)
