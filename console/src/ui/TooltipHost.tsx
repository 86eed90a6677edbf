import { useEffect, useId, useLayoutEffect, useRef, useState } from 'react'

const openAfterMs = 350
const gapPx = 6

type Shown = { text: string; target: HTMLElement }

/**
 * The only tooltip of the page. Any element with `data-tip` shows it on hover and keyboard focus, so a table of a
 * thousand rows costs nothing. The tooltip can be hovered, and Escape closes it (WCAG 1.4.13).
 */
export function TooltipHost() {
  const [shown, setShown] = useState<Shown | null>(null)
  const box = useRef<HTMLDivElement>(null)
  const id = useId()

  useEffect(() => {
    let timer = 0
    const show = (target: HTMLElement) => setShown({ text: target.dataset['tip'] ?? '', target })
    const hide = () => {
      clearTimeout(timer)
      setShown(null)
    }
    const over = ({ target, pointerType }: PointerEvent) => {
      if (!(target instanceof Element) || box.current?.contains(target)) return
      const tipped = target.closest<HTMLElement>('[data-tip]')
      clearTimeout(timer)
      if (!tipped) timer = window.setTimeout(hide, 80)
      else if (pointerType !== 'touch') timer = window.setTimeout(show, openAfterMs, tipped)
    }
    const focus = ({ target }: FocusEvent) => {
      const tipped = target instanceof Element ? target.closest<HTMLElement>('[data-tip]') : null
      if (tipped?.matches(':focus-visible')) show(tipped)
    }
    const key = (event: KeyboardEvent) => event.key === 'Escape' && hide()
    const stop = new AbortController()
    const on = { signal: stop.signal, capture: true }
    document.addEventListener('pointerover', over, on)
    document.addEventListener('focusin', focus, on)
    document.addEventListener('focusout', hide, on)
    document.addEventListener('pointerdown', hide, on)
    document.addEventListener('keydown', key, on)
    document.addEventListener('scroll', hide, on)
    return () => {
      stop.abort()
      hide()
    }
  }, [])

  useLayoutEffect(() => {
    if (!shown || !box.current) return undefined
    const around = shown.target.getBoundingClientRect()
    const { width, height } = box.current.getBoundingClientRect()
    const centred = around.left + around.width / 2 - width / 2
    const above = around.top - height - gapPx
    box.current.style.left = `${Math.max(8, Math.min(centred, window.innerWidth - width - 8))}px`
    box.current.style.top = `${above < 8 ? around.bottom + gapPx : above}px`
    if (shown.target.hasAttribute('aria-description') || shown.target.getAttribute('aria-label') === shown.text)
      return undefined
    shown.target.setAttribute('aria-describedby', id)
    return () => shown.target.removeAttribute('aria-describedby')
  }, [shown, id])

  if (!shown) return null
  return (
    <div
      ref={box}
      id={id}
      role="tooltip"
      className="fixed z-50 max-w-72 rounded-md bg-ink px-2 py-1 text-xs whitespace-pre-line text-canvas shadow-overlay"
    >
      {shown.text}
    </div>
  )
}
