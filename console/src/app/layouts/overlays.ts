import { createStore } from '../../lib/store.ts'

export type OverlayName = 'palette' | 'keyboard'

const openOverlay = createStore<OverlayName | null>(null)

export const openPalette = (): void => openOverlay.set('palette')
export const openKeyboardHelp = (): void => openOverlay.set('keyboard')
export const closeOverlay = (): void => openOverlay.set(null)

/** The open overlay of the app; null if none is open. At most one is open at a time. */
export const useOpenOverlay = openOverlay.use
