import { useEffect } from 'react'

/** What the browser's tab and history say. */
export function usePageTitle(title: string): void {
  useEffect(() => {
    document.title = `${title} · Shoal`
  }, [title])
}
