import type { ReactNode } from 'react'
import { createStore } from '../lib/store.ts'

type RenderDialog = (close: () => void) => ReactNode

const renderedDialog = createStore<RenderDialog | null>(null)

/** Opens a dialog above the page. It stays open when the menu or palette that opened it closes. */
export const openDialog = (render: RenderDialog): void => renderedDialog.set(render)
export const closeDialog = (): void => renderedDialog.set(null)
/** The function that renders the open dialog; null if none is open. */
export const useOpenedDialog = renderedDialog.use
