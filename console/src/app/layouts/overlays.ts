import { useSyncExternalStore } from 'react'

export type OverlayName = 'palette' | 'keyboard'

let open: OverlayName | null = null
const listeners = new Set<() => void>()

function set(name: OverlayName | null): void {
  open = name
  for (const tell of listeners) tell()
}

const subscribe = (tell: () => void) => {
  listeners.add(tell)
  return () => listeners.delete(tell)
}

export const openPalette = (): void => set('palette')
export const openKeyboardHelp = (): void => set('keyboard')
export const closeOverlay = (): void => set(null)

/** Which of the app's own overlays is open; there is never more than one. */
export const useOpenOverlay = (): OverlayName | null => useSyncExternalStore(subscribe, () => open)
