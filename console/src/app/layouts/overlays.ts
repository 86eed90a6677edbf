import { createStore } from '../../lib/store.ts'

export type OverlayName = 'palette' | 'keyboard'

const opened = createStore<OverlayName | null>(null)

export const openPalette = (): void => opened.set('palette')
export const openKeyboardHelp = (): void => opened.set('keyboard')
export const closeOverlay = (): void => opened.set(null)

/** The open overlay of the app; at most one is open. */
export const useOpenOverlay = opened.use
