import type { FinalState, FinalTodo } from '../final-state.ts'
import { type Item, itemIn } from '../items.ts'
import type { Violation } from '../violation.ts'

/** Everything accepted became exactly one todo, and nothing else did. */

export const checkAnswers = (items: ReadonlyMap<string, Item>): Violation[] => {
  const owners = new Map<string, string>()
  return [...items.values()].flatMap((item): Violation[] => {
    const ids = [...item.ids]
    const found: Violation[] = []
    if (ids.length > 1) {
      const message = `${item.name} was answered with ${ids.join(' and ')}`
      found.push({ rule: 'delivery-twice', message })
    }
    if (item.created > 1) {
      const message = `${item.name} was accepted as new ${item.created} times`
      found.push({ rule: 'delivery-twice', message })
    }
    for (const todo_id of ids) {
      const other = owners.get(todo_id)
      owners.set(todo_id, item.name)
      if (other === undefined) continue
      const message = `${other} and ${item.name} were answered with the same todo`
      found.push({ rule: 'todo-lost', todo_id, message })
    }
    return found
  })
}

const todosByItem = ({ todos }: FinalState): Map<string, FinalTodo[]> => {
  const by_item = new Map<string, FinalTodo[]>()
  for (const todo of todos.values()) {
    const name = itemIn(todo.title) ?? ''
    by_item.set(name, [...(by_item.get(name) ?? []), todo])
  }
  return by_item
}

const checkItem = (item: Item, todos: readonly FinalTodo[]): Violation[] => {
  if (todos.length > 1) {
    const message = `${item.name} became ${todos.map((todo) => todo.id).join(' and ')}`
    return [{ rule: 'todo-twice', message }]
  }
  const [todo] = todos
  if (todo === undefined) {
    if (!item.accepted) return []
    return [{ rule: 'todo-lost', message: `${item.name} was accepted and is not there` }]
  }
  const { id: todo_id } = todo
  if (!item.possible) {
    return [
      { rule: 'todo-from-nothing', todo_id, message: `every try of ${item.name} was refused` },
    ]
  }
  if (!item.accepted || item.ids.has(todo_id)) return []
  const message = `${item.name} was answered with ${[...item.ids].join(' and ')}`
  return [{ rule: 'todo-lost', todo_id, message }]
}

const checkEvents = (items: readonly Item[], events: number | undefined): Violation[] => {
  if (events === undefined) return []
  const webhooks = items.filter((item) => item.kind === 'webhook')
  const least = webhooks.filter((item) => item.accepted).length
  const most = webhooks.filter((item) => item.possible).length
  if (events >= least && events <= most) return []
  const message = `${events} deliveries are in the event history; ${least} to ${most} were accepted`
  return [{ rule: 'history-incomplete', message }]
}

export const checkAccepted = (items: ReadonlyMap<string, Item>, final: FinalState): Violation[] => {
  const by_item = todosByItem(final)
  const unknown = [...by_item].filter(([name]) => !items.has(name)).flatMap(([, todos]) => todos)
  return [
    ...[...items.values()].flatMap((item) => checkItem(item, by_item.get(item.name) ?? [])),
    ...unknown.map(({ id, title }): Violation => {
      return { rule: 'todo-from-nothing', todo_id: id, message: `nobody made ${title}` }
    }),
    ...checkEvents([...items.values()], final.events),
  ]
}
