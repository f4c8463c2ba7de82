import { FieldNames, type FieldRule, normalizeName, ownNames, PARTS, type Resource } from './field-names.ts';
import {
  type FieldValue,
  type NextValue,
  type OperationValue,
  type ParameterValue,
  parseField,
  parseItems,
  parseNext,
  parseOperation,
  parseParameter,
  parseSlash,
  parseValues,
  type Slash,
} from './leaf-value.ts';
import {
  type AtLeaf,
  type FieldLeaf,
  isLeafName,
  LEAVES,
  type LeafName,
  type LeafSpec,
  type ListLeaf,
  type OperationLeaf,
  type ParameterLeaf,
  type ValuesLeaf,
} from './leaves.ts';
import type { Source } from './sources.ts';

/** Values that replace defaults, by leaf. */
export type LeafValues = Readonly<Record<string, string>>;

/** The values of a service that replace the defaults, in the order of precedence. */
export interface ContractLayers {
  readonly override?: LeafValues;
  readonly imported?: LeafValues;
}

/** A leaf with its effective value. */
export interface Leaf extends Omit<LeafSpec, 'source'> {
  readonly name: LeafName;
  readonly source: Source;
}

const PRECEDENCE = ['override', 'imported'] as const;

/** The wire format of one service: the value of every leaf (spec §4.7). Immutable. */
export class Contract {
  private readonly layers: ContractLayers;
  private readonly known = new Map<LeafName, Leaf>();
  private readonly fields = new Map<FieldLeaf, FieldValue>();
  private readonly names = new Map<ValuesLeaf, readonly string[]>();
  private readonly resources = new Map<Resource, FieldNames>();

  constructor(layers: ContractLayers = {}) {
    this.layers = layers;
  }

  leaf(name: LeafName): Leaf {
    const known = this.known.get(name) ?? this.findLeaf(name);
    this.known.set(name, known);
    return known;
  }

  private findLeaf(name: LeafName): Leaf {
    const spec = LEAVES[name];
    for (const source of PRECEDENCE) {
      const layer = this.layers[source];
      const value = layer && Object.hasOwn(layer, name) ? layer[name] : undefined;
      if (value !== undefined) return { ...spec, name, value, source };
    }
    return { ...spec, name };
  }

  /** Returns all leaves in the order of the catalog. */
  leaves(): readonly Leaf[] {
    return Object.keys(LEAVES).flatMap((name) => (isLeafName(name) ? [this.leaf(name)] : []));
  }

  /** Undefined if the service has no such operation. */
  operation(name: OperationLeaf): OperationValue | undefined {
    return this.parse(name, parseOperation);
  }

  /** Undefined if the parameter is not sent. */
  parameter(name: ParameterLeaf): ParameterValue | undefined {
    return this.parse(name, parseParameter);
  }

  /** Undefined if the items must be searched for. */
  items(list: ListLeaf): readonly string[] | undefined {
    return this.parse(`${list}.items`, parseItems);
  }

  next(list: ListLeaf): NextValue {
    return this.parse(`${list}.next`, parseNext);
  }

  field(name: FieldLeaf): FieldValue {
    return cached(this.fields, name, () => this.parse(name, parseField));
  }

  /** The names of a resource's fields. */
  namesOf(resource: Resource): FieldNames {
    return cached(this.resources, resource, () => {
      const leaves = Object.keys(LEAVES).filter(isFieldLeaf);
      const own = leaves.filter((leaf) => leaf.startsWith(`${resource}.`));
      const rules = new Map(own.map((leaf) => [leaf, this.rule(leaf)]));
      return new FieldNames(resource, rules, this.places(resource));
    });
  }

  /** The normalized paths to the objects that hold fields of a resource. */
  private places(resource: Resource): readonly (readonly string[])[] {
    const name = `${resource}.at`;
    if (!isAtLeaf(name)) return [...PARTS, ...ownNames(resource)].map((part) => [part]);
    return this.parse(name, parseField)
      .flat()
      .map((path) => path.map(normalizeName));
  }

  values(name: ValuesLeaf): readonly string[] {
    return cached(this.names, name, () => this.parse(name, parseValues));
  }

  slash(): Slash {
    return this.parse('paths.trailing_slash', parseSlash);
  }

  private rule(leaf: FieldLeaf): FieldRule {
    const { source } = this.leaf(leaf);
    return {
      ranks: this.field(leaf).map((rank) => rank.map((path) => path.map(normalizeName))),
      isChosen: source === 'override' || source === 'imported',
    };
  }

  /** Never fails: the values of stored layers were checked when they were loaded. */
  private parse<Value>(name: LeafName, parser: (value: string) => Value): Value {
    return parser(this.leaf(name).value);
  }
}

function isFieldLeaf(name: string): name is FieldLeaf {
  return isLeafName(name) && LEAVES[name].kind === 'field';
}

function isAtLeaf(name: string): name is AtLeaf {
  return isLeafName(name) && LEAVES[name].kind === 'at';
}

function cached<Name, Value>(cache: Map<Name, Value>, name: Name, compute: () => Value): Value {
  const known = cache.get(name);
  if (known !== undefined) return known;
  const value = compute();
  cache.set(name, value);
  return value;
}
