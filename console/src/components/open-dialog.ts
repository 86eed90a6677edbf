import type { ReactNode } from 'react'
import { createStore } from '../lib/store.ts'

type RenderDialog = (close: () => void) => ReactNode

const opened = createStore<RenderDialog | null>(null)

/** Opens a dialog above the page. It stays open when the menu or palette that opened it closes. */
export const openDialog = (render: RenderDialog): void => opened.set(render)
export const closeDialog = (): void => opened.set(null)
export const useOpenedDialog = opened.use
