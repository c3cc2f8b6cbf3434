package main
import ("fmt";"io";"os";"github.com/open-policy-agent/opa/v1/ast")
func main(){
 b,_:=io.ReadAll(os.Stdin)
 m,err:=ast.ParseModuleWithOpts("a.rego",string(b),ast.ParserOptions{RegoVersion:ast.RegoV1,ProcessAnnotation:true})
 if err!=nil{fmt.Println(err);return}
 c:=ast.NewCompiler()
 for _,st:=range []ast.StageID{ast.StageResolveRefs,ast.StageRewriteLocalVars} { st:=st
 c=c.WithStageAfterID(st,ast.CompilerStageDefinition{Name:"x"+string(st),MetricName:"x",Stage:func(c *ast.Compiler)*ast.Error{ if len(os.Args)>1{fmt.Println("##",st);for _,m:=range c.Modules{fmt.Println(m)}};return nil}})}
 c.Compile(map[string]*ast.Module{"a.rego":m})
 if c.Failed(){fmt.Println(c.Errors)}
 for _,m:=range c.Modules{fmt.Println(m)}
}
